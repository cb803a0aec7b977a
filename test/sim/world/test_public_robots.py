"""Published robots stand, or hang right, under default commands, with all sensors alive."""

from pathlib import Path

import numpy as np
import pytest
from each_case import mostly_slow
from paths import SHARED

from hrp_model import Diagnostics
from hrp_sim import Simulation
from hrp_sim.world.load import load_world

MODELS = SHARED / "models"
SR1 = "choreonoid__choreonoid/share/model/SR1"
MISC = "choreonoid__choreonoid/share/model"
OPENHRP = "fkanehiro__openhrp3/sample/model"
HAIRO = "k38-suzuki__hairo-world-plugin/sample"
TUTORIAL = "choreonoid__choreonoid_ros2_mobile_robot_tutorial/model"
ARMS = (
    f"{MISC}/PA10/PA10.body", "fkanehiro__choreonoid/share/model/PA10/PA10.wrl",
    f"{OPENHRP}/PA10/pa10.main.wrl", f"{HAIRO}/robotic-arm/model/Gen3/Gen3NV.body",
    "fkanehiro__hrpsys-base/sample/Sample6dofRobot/Sample6dofRobot.wrl",
    "tork-a__rtmros_nextage/nextage_description/models/main.wrl",
)  # fmt: skip
LEGGED = (
    f"{MISC}/GR001/GR001.body", "fkanehiro__choreonoid/share/model/GR001/GR001.wrl",
    f"{SR1}/SR1.body", f"{SR1}/SR1-2D.body", f"{SR1}/SR1DH.body", f"{SR1}/SR1Hand.body",
    "fkanehiro__choreonoid/share/model/SR1/SR1.wrl", f"{OPENHRP}/sample.wrl",
    f"{OPENHRP}/sample1.wrl", "isri-aist__hrp4c_description/vrml/HRP4Cmain.wrl",
)  # fmt: skip
MOBILE = (
    f"{MISC}/AizuSpider/AizuSpiderNA.body", f"{MISC}/AizuSpider/AizuSpiderNS.body",
    f"{MISC}/AizuWheel/AizuWheel.body", f"{MISC}/Tank/PxTank.body",
    f"{MISC}/misc/FourWheelCar.body", f"{OPENHRP}/RH2/RH2_WithArm_withoutSensor.wrl",
    f"{OPENHRP}/RH2/RH2_withoutArm_withBumpSensor.wrl",
    f"{OPENHRP}/simple_vehicle_with_camera.wrl", f"{OPENHRP}/simple_vehicle_with_rangesensor.wrl",
    f"{HAIRO}/tutorial/Crawler/crawler.body", f"{HAIRO}/ugv/model/Jackal/Jackal.body",
    f"{TUTORIAL}/mobile_robot_pantilt.body", f"{TUTORIAL}/mobile_robot_sensors.body",
    "keitaronaruse__cnoid-ext-nrs/NrsSubcrawlerController/plate_with_subcrawlers.body",
)  # fmt: skip
ROBOTS = (*ARMS, *LEGGED, *MOBILE)
DURATION = 10.0  # [s]


@pytest.mark.parametrize("model", mostly_slow(ROBOTS, 1))
def test_it_stands_or_hangs_for_ten_seconds(model):
    path = Path(MODELS, model)
    if not path.is_file():
        pytest.skip("the published models are not beside this checkout")
    config = load_world(path, Diagnostics.silent())
    with Simulation(config, defer_images=True, diagnostics=Diagnostics.silent()) as simulation:
        name = config.bodies[-1].placement.name
        motion = simulation.bodies[name].motion
        start, q = motion.R[0].copy(), motion.q.copy()
        place = motion.p[0].copy()
        sampled = set()
        steps = round(0.01 / simulation.engine.settings.time_step)
        for _ in range(round(DURATION / 0.01)):
            sampled |= simulation.advance(steps).keys()
        up = float(motion.R[0][:, 2] @ start[:, 2])
        assert np.degrees(np.arccos(min(up, 1.0))) < 3.0
        assert np.hypot(*(motion.p[0] - place)[:2]) < 0.05
        np.testing.assert_allclose(motion.q, q, atol=0.03)
        assert np.abs(motion.dq).max(initial=0.0) < 0.01  # at rest
        assert sampled == {key for key in simulation.sensors if simulation.is_enabled(key)}
