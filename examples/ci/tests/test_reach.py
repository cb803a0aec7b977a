"""What a scenario file cannot say: a test in Python looks at the whole result of a run."""


def test_the_base_stays(hrp_scenario):
    run = hrp_scenario("reach.scenario.yaml")
    arm = run.result.bodies["arm"]
    assert arm.end.speed == 0.0
    assert max(abs(joint.velocity) for joint in arm.joints.values()) < 0.01
