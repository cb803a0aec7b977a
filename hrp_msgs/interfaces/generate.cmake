# generate(FILES... DEPENDENCIES PACKAGES...) makes of interfaces what Python needs, and compiles
# it faster than rosidl_generate_interfaces alone does.
macro(generate)
  # C++ messages: rclpy uses none of them.
  list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:")
  rosidl_generate_interfaces(${PROJECT_NAME} ${ARGN})
  # One compilation for all files of a library, but for that of the C structs, whose static names
  # collide.
  foreach(part rosidl_generator_py rosidl_typesupport_c rosidl_typesupport_fastrtps_c
      rosidl_typesupport_introspection_c)
    set_target_properties(${PROJECT_NAME}__${part}
      PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endforeach()
endmacro()
